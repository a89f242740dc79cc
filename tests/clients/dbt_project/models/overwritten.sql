{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['day']) }}
select id, customer, day from {{ ref('all_orders') }}
{% if is_incremental() %} where day = date'2024-01-02' {% endif %}
