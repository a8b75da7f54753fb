/** Settings of an edge: a server that forwards to another one (`edge/README.md`). */
import { hostname } from 'node:os'
import { oneOf, readLabel, readPersonalKey, readUrlOrNothing, wholeNumber } from './readings.ts'

/** Part of SETTINGS. */
export const EDGE_SETTINGS = [
  {
    key: 'forward_to',
    env: 'TIDEMARK_FORWARD_TO',
    flag: '--forward-to <url>',
    read: readUrlOrNothing,
    fallback: '',
    help: 'makes this server an edge of the one at this address: it answers SDKs by itself and forwards their events there',
  },
  {
    key: 'forward_key',
    env: 'TIDEMARK_FORWARD_KEY',
    flag: null,
    read: readPersonalKey,
    fallback: '',
    help: 'a personal API key of the server that an edge forwards to',
  },
  {
    key: 'edge_name',
    env: 'TIDEMARK_EDGE_NAME',
    flag: '--edge-name <name>',
    read: readLabel(hostname()),
    fallback: '',
    help: 'name of an edge in the list of its home; default: the name of its machine',
  },
  {
    key: 'edge_disk_mb',
    env: 'TIDEMARK_EDGE_DISK_MB',
    flag: '--edge-disk-mb <megabytes>',
    read: wholeNumber(1, 1024 * 1024 * 1024),
    fallback: '10240',
    help: 'disk for what waits at an edge while its home is away; beyond it capture is answered 503',
  },
  {
    key: 'edge_refresh_s',
    env: 'TIDEMARK_EDGE_REFRESH_S',
    flag: '--edge-refresh-s <seconds>',
    read: wholeNumber(1, 3600),
    fallback: '5',
    help: 'age at which an edge asks its home for changed definitions and persons',
  },
  {
    key: 'edge_others',
    env: 'TIDEMARK_EDGE_OTHERS',
    flag: '--edge-others <pass|refuse>',
    read: oneOf(['pass', 'refuse']),
    fallback: 'refuse',
    help: 'what an edge does with queries and management: pass them on to its home, or refuse them with its address',
  },
] as const
