{{ config(materialized='view') }}
select id, customer, amount, to_date(ordered) as day, paid from {{ ref('raw_orders') }}
