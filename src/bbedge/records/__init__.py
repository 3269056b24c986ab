"""Every shape that is written or read, as msgspec structs, and the one codec for them.

``options`` has the options of a design, ``reading`` those about reading files and ``output`` those about what
commands write: each option is one field, and its argument in Python, its key in files, its option on the command line
and its line in the reference follow from it. ``design`` has designs as boards and certificates state them,
``certificate`` the document, ``events`` and ``gate`` what ledgers hold, ``policy`` what a gate decides, ``study`` the
keys of a study file, ``journal`` the lines in the folder of a run, ``notes`` facts that travel with scores. ``codec``
turns JSON and TOML into these structs and back, ``schema`` describes them, ``values`` has the types of single values.

A room above states the rules that hold between records; here are keys, types, bounds, and what one record says alone.
"""
