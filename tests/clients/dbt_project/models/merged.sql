{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', on_schema_change='append_new_columns') }}
select id, customer, amount {% if is_incremental() %}, true as seen_again {% endif %} from {{ ref('all_orders') }}
{% if is_incremental() %} where id >= 3 {% endif %}
