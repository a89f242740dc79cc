{{ config(materialized='incremental', incremental_strategy='append') }}
select id, day from {{ ref('all_orders') }}
{% if is_incremental() %} where id > (select count(*) from {{ this }}) - 1 {% endif %}
