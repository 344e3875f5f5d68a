"""The same model behind other servers, and behind this one, asked in turn in one run.

Every peer has an environment of its own, from its requirements here, under ``.benchmarks/peers``
(``make bench-peers`` builds them). ``apps`` and ``model`` run in those environments: they may use
nothing of DynaServe.
"""
