-- Edge: entries of projects that have moved to another server wait under the epoch 'moved'.
create index edge_entries_moved on edge_entries (seq) where epoch = 'moved';
