"""Every shape that is written or read, as msgspec structs, and the one codec for them.

``codec`` turns JSON and TOML into these structs and back, ``values`` has the types of single values, ``events`` the
events of a board, ``study`` the keys of a study file, ``journal`` the lines in the folder of a run. A room above states
the rules that hold between records; here are only keys, types and bounds.
"""
