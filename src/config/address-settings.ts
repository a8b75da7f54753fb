/** Settings of the address that clients use: its path, certificates. */
import { readBasePath, readPathOrNothing } from './readings.ts'

/** Part of SETTINGS. */
export const ADDRESS_SETTINGS = [
  {
    key: 'base_path',
    env: 'TIDEMARK_BASE_PATH',
    flag: '--base-path <path>',
    read: readBasePath,
    fallback: '',
    help: 'path below which everything is served, as /tidemark, for a proxy that passes it on',
  },
  {
    key: 'tls_cert',
    env: 'TIDEMARK_TLS_CERT',
    flag: '--tls-cert <path>',
    read: readPathOrNothing,
    fallback: '',
    help: 'certificate chain in PEM to serve https with, the own one first; read again when it changes',
  },
  {
    key: 'tls_key',
    env: 'TIDEMARK_TLS_KEY',
    flag: '--tls-key <path>',
    read: readPathOrNothing,
    fallback: '',
    help: 'private key in PEM of that certificate; read again when it changes',
  },
] as const
