-- Queries read the logs of a project's plugins, and its surveys: without an index they would walk those of all projects.
create index plugin_logs_by_project on plugin_logs (project_id, seq);
create index surveys_by_project on surveys (project_id);
