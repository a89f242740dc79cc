// Spark's SQL for the editor: what is a keyword, a type, a quote.
import { SQLDialect } from "@codemirror/lang-sql";

const KEYWORDS = `
add after all alter always analyze and anti any array as asc authorization before begin between both by cascade case cast
catalog catalogs change changes check clone close cluster clustered clustering collate column columns comment compute condition
constraint continue convert copy cost create cross cube current current_date current_timestamp current_user cursor data database
databases day days declare deep default delete delta desc describe detail directory distinct distribute div do drop dry else end
escape evolution except exchange execute exists exit explain extended external extract false features fetch fileformat files
filter first following for foreign format formatted from full function functions generate generated global grant group grouping
handler having history hour hours identity if ignore immediate in inner inpath insert intersect interval into is iterate join key
keys last lateral leading leave left like limit location loop manifest map matched merge minus minute mask month name names natural
next no not null nulls of offset on only optimize or order outer over overwrite owner partition partitioned partitions percent
pivot policy position preceding primary properties purge qualify range recursive references refresh rename reorg repair repeat
replace reset restore restrict retain revoke right rlike role rollup row rows schema schemas select semi set shallow show some sort
source start statistics struct sync system table tables tablesample target tblproperties temporary then time timestamp to token
trailing transform trigger true truncate type unbounded undrop union unique unknown unpivot unset until update use user using vacuum
values variable version view views volume when where while window with within without year zorder`;

const TYPES = `
bigint binary boolean byte char character date dec decimal double float int integer interval long numeric real short smallint string
struct timestamp timestamp_ltz timestamp_ntz tinyint varchar variant void array map`;

const FUNCTIONS = `
abs aggregate approx_count_distinct array_agg array_contains avg ceil coalesce collect_list collect_set concat concat_ws count
count_if date_add date_diff date_format date_sub date_trunc datediff dayofmonth dense_rank element_at explode first_value floor
from_json greatest hash hex histogram_numeric ifnull inline instr isnull json_tuple lag last_value lead least length lower lpad
ltrim make_date max max_by md5 median min min_by mode months_between named_struct now nullif nvl percentile percentile_approx
posexplode pow rank regexp_extract regexp_replace round row_number rpad rtrim sequence sha2 size sort_array split sqrt stddev
substring sum table_changes to_date to_json to_timestamp transform trim try_cast unix_timestamp upper uuid variance weekofyear`;

export const sparkDialect = SQLDialect.define({
  keywords: KEYWORDS.trim(),
  types: TYPES.trim(),
  builtin: FUNCTIONS.trim(),
  identifierQuotes: "`",
  doubleQuotedStrings: true,
  backslashEscapes: true,
  slashComments: false,
  hashComments: false,
  operatorChars: "*+-%<>!=&|^~/:",
});

/** Keywords and types alone, for completion; functions come from the server. */
export const keywordDialect = SQLDialect.define({ keywords: KEYWORDS.trim(), types: TYPES.trim() });
