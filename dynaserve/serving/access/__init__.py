"""Who may ask, and how much: API keys, their limits, and the gate in front of a service.

``dynaserve keys`` writes the file of keys (``records``), every worker reads it (``ring``), and the
gate (``gate``) lets a request in or refuses it before a byte of its body is read. What a client has
used is counted (``ledger``) in one store that all workers share (``stores``).

Nothing here may keep, log or repeat a key: the file holds digests, and the store ids and counts.
Importing this package imports none of its modules, so that ``dynaserve keys`` needs no server.
"""
