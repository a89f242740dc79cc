{{ config(
    enabled=(target.type == 'databricks'),
    materialized='incremental',
    incremental_strategy='replace_where',
    incremental_predicates=["day = date'2024-01-02'"]
) }}
select id, customer, day from {{ ref('all_orders') }}
{% if is_incremental() %} where day = date'2024-01-02' {% endif %}
