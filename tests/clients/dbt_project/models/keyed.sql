{{ config(enabled=(target.type == 'databricks'), materialized='table') }}
select cast(id as bigint) as id, cast(customer as string) as customer from {{ ref('raw_orders') }}
