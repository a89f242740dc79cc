"""Words of SQL for `pg_get_keywords`, which tools highlight and complete."""

from __future__ import annotations

KEYWORDS = tuple(
    "all analyze and any array as asc between both by case cast check collate column constraint create cross "
    "current_date current_time current_timestamp current_user default delete desc describe distinct drop else end "
    "except exists false fetch filter following for foreign from full grant group having in inner insert intersect "
    "interval into is join lateral left like limit merge natural not null nulls offset on or order outer over "
    "partition preceding primary range references revoke right row rows select session_user set show some table "
    "then to trailing true truncate unbounded union unique update user using values view when where window with".split()
)
