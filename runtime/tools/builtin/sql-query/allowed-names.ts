import { words } from '../../../util/text/words';

/**
 * Functions of Postgres that only work out a value from their arguments. Left out: what reads or changes settings,
 * files, sessions, locks, sequences or large objects, what runs a text as SQL, and what makes a huge value of a
 * small one (repeat, lpad, rpad, format, array_fill, factorial).
 */
export const ALLOWED_FUNCTIONS: ReadonlySet<string> = new Set(
  words(`
  any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every json_agg
  json_object_agg jsonb_agg jsonb_object_agg max min mode percentile_cont percentile_disc range_agg regr_avgx regr_avgy
  regr_count regr_intercept regr_r2 regr_slope stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance

  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number

  ascii btrim char_length character_length chr concat concat_ws initcap is_normalized left length like_escape lower ltrim
  md5 normalize octet_length overlay position quote_literal regexp_count regexp_instr regexp_like regexp_match
  regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr replace reverse right rtrim
  similar_to_escape split_part starts_with string_to_array string_to_table strpos substr substring to_hex translate
  upper

  abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees div exp floor gcd lcm ln log log10 min_scale mod pi pow
  power radians random round scale sign sin sqrt tan trim_scale trunc width_bucket

  age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days
  justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now overlaps
  statement_timestamp timezone to_char to_date to_number to_timestamp transaction_timestamp

  array_append array_cat array_dims array_length array_lower array_ndims array_position array_positions array_prepend
  array_remove array_replace array_to_json array_to_string array_upper cardinality generate_series generate_subscripts
  trim_array unnest

  json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
  json_each_text json_extract_path json_extract_path_text json_object json_object_keys json_strip_nulls json_typeof
  jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
  jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys
  jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty
  jsonb_set jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb

  daterange int4range int8range isempty lower_inc lower_inf numrange tsrange tstzrange upper_inc upper_inf
  gen_random_uuid num_nonnulls num_nulls
  phraseto_tsquery plainto_tsquery to_tsquery to_tsvector ts_headline ts_rank ts_rank_cd websearch_to_tsquery
`),
);

/** Types whose values are data. Not among them: those whose text is looked up in the catalogue, such as regclass. */
export const ALLOWED_TYPES: ReadonlySet<string> = new Set(
  words(`
  bool bpchar char cidr date daterange decimal float4 float8 inet int2 int4 int4range int8 int8range interval json
  jsonb jsonpath macaddr money numeric numrange text time timestamp timestamptz timetz tsquery tsrange tstzrange
  tsvector uuid varchar
`),
);

/** Operators of Postgres; an installation's own may run any function. The words are how the parser names a BETWEEN. */
export const ALLOWED_OPERATORS: ReadonlySet<string> = new Set([
  ...words(`
    = <> != < > <= >= + - * / % ^ |/ ||/ @ & | # ~ << >> ||
    ~* !~ !~* ~~ ~~* !~~ !~~* ^@ -> ->> #> #>> #- @> <@ ? ?| ?& @? @@ && &< &> -|- <<= >>=
  `),
  'BETWEEN',
  'NOT BETWEEN',
  'BETWEEN SYMMETRIC',
  'NOT BETWEEN SYMMETRIC',
]);
