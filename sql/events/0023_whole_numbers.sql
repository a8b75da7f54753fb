-- Files store numbers of a property that are all whole as BIGINT, and `columns` of the manifest says which. No table
-- changes: the number of this step makes older programs refuse the folder, since they would read such numbers wrongly.
select 1;
