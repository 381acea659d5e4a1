"""What Datasette 1.0 is told once, as it starts, where 0.65 asks a hook each time: descriptions, and the queries.

Found by what the object can do, for the alphas differ. What the reader's own metadata says is left as it is.
"""

from __future__ import annotations

from typing import Any

from ledger.web import _canned, _tables

__all__ = ["tell"]


async def tell(datasette: Any, database: str) -> None:
    """Describe a ledger to a Datasette that keeps descriptions itself; nothing for one that asks."""
    if hasattr(datasette, "set_resource_metadata") and hasattr(datasette, "set_column_metadata"):
        await datasette.refresh_schemas()
        for table, said in _tables.described()["tables"].items():
            known = await datasette.get_resource_metadata(database, table)
            if "description" not in known:
                await datasette.set_resource_metadata(database, table, "description", said["description"])
            for column, text in said["columns"].items():
                if not await datasette.get_column_metadata(database, table, column):
                    await datasette.set_column_metadata(database, table, column, "description", text)
    if hasattr(datasette, "add_query") and hasattr(datasette, "get_query"):
        for name, query in (await _canned.queries(datasette, database)).items():
            if await datasette.get_query(database, name) is None:
                await datasette.add_query(
                    database, name, query["sql"], title=query["title"], description=query["description"],
                    hide_sql=query["hide_sql"], parameters=query["params"],
                )  # fmt: skip
