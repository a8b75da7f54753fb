/** Settings of a primary and of its standbys (`standby/README.md`). */
import { readPersonalKey, readUrlOrNothing } from './readings.ts'

/** Part of SETTINGS. */
export const STANDBY_SETTINGS = [
  {
    key: 'replica_of',
    env: 'TIDEMARK_REPLICA_OF',
    flag: '--replica-of <url>',
    read: readUrlOrNothing,
    fallback: '',
    help: 'makes this server a standby of the one at this address: it copies all data continuously, and "tidemark takeover" makes it a server of its own',
  },
  {
    key: 'replica_key',
    env: 'TIDEMARK_REPLICA_KEY',
    flag: null,
    read: readPersonalKey,
    fallback: '',
    help: 'secret of a server and its standbys, the same on each, with which everything can be read; without it a server has no standbys',
  },
] as const
