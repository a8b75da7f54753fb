-- Lists of insights are in this order. The columns that they are filtered by stand behind long queries in a row.
create index insights_by_change on insights (project_id, deleted, last_modified_at, id, saved, favorited, created_by);
