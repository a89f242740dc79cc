select * from {{ ref('all_orders') }} where amount < 0
