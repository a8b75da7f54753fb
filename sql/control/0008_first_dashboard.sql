-- Every project begins with a dashboard, whoever makes it: the API, the command line, the first start.
create trigger project_begins after insert on projects begin
  insert into dashboards (project_id, name, pinned, created_at, last_modified_at)
  values (new.id, 'My App Dashboard', 1, new.created_at, new.created_at);
  update projects set primary_dashboard = last_insert_rowid() where id = new.id;
end;
