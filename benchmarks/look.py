"""One update and one whole look against the matrix products that they need."""
import sys, time
import numpy as np
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.eholm import e_holm
from bbedge.core.graph import Graph

def timed(f):
    s=time.process_time(); r=f(); return time.process_time()-s, r
L,N=int(sys.argv[1]),int(sys.argv[2])
rng=np.random.default_rng(0)
ability=np.linspace(.3,.8,L)[:,None]; diff=rng.normal(0,.15,N)
P=np.clip(ability+diff,0.02,.98)
panels=[(rng.random((L,N))<P).astype(float) for _ in range(3)]
A=panels[0]-.5; B=A.copy()
A@A.T
print("syrk",min(timed(lambda:A@A.T)[0] for _ in range(3)),"gemm",min(timed(lambda:A@B.T)[0] for _ in range(3)))
for kind in sys.argv[3].split(","):
    t0,d=timed(lambda:Design.make([f"m{i}" for i in range(L)],[f"i{i}" for i in range(N)],evidence=kind,stakes="paper" if kind=="bernstein" else "design"))
    print(kind,"design",t0)
    e=Evidence(d)
    for p in panels:
        u,_=timed(lambda:e.update(p)); l,le=timed(e.log_e); m,_=timed(e.lower_bounds)
        h,ed=timed(lambda:e_holm(le,alpha=.05)); g=Graph(ed); c,_=timed(lambda:g.reach); r,_=timed(lambda:g.rank_intervals)
        print(f"update {u:.3f} log_e {l:.3f} margins {m:.3f} eholm {h:.3f} closure {c:.3f} ranks {r:.3f} = {u+l+m+h+c+r:.3f}; edges {ed.sum()}")
