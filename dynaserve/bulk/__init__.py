"""The same work over files too large for one process: cut into units, shared out by Dask.

Importing this package loads neither Dask nor pyarrow; what needs them says which extra has them.
"""
