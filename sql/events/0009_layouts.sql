-- How a file keeps properties: 'whole', as JSON text beside the columns; or 'packed', in columns, with what they do
-- not give back exactly as JSON in `rest`, and the order of keys in `shape`.
alter table files add column layout text not null default 'whole' check (layout in ('whole', 'packed'));
