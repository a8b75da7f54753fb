-- What clients and hosted forms are told of a survey beside its questions.
alter table surveys add column enable_partial_responses integer;
alter table surveys add column enable_iframe_embedding integer;
alter table surveys add column translations text check (json_valid(translations));
alter table surveys add column form_content text check (json_valid(form_content));

-- Answers to surveys that figures may leave out, by the uuid of their event.
create table survey_archived_responses (
  survey_id text not null references surveys (id) on delete cascade,
  response_uuid text not null,
  archived_at integer not null,
  primary key (survey_id, response_uuid)
) strict, without rowid;
