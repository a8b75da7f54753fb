/** The check of `doctor` on the certificate of https: the one that a running server shows, and why there is no next one. */
import { connect, type PeerCertificate } from 'node:tls'
import { findAcmeState } from '../../certificates/acme/acme-file.ts'
import { DAY_MS } from '../../time.ts'
import type { MachineFinding } from './machine-finding.ts'

const ANSWER_TIMEOUT_MS = 5000
/** A certificate ends soon in the last fifth of its lifetime, and ten days before its end at the earliest. */
const SOON_SHARE = 0.2
const SOON_MS = 10 * DAY_MS

const ENDED = 'has ended: clients refuse it'
const TEMPORARY = 'is a temporary one, which clients refuse, until the first is there'

/** Examines the certificate of the server at an address on this machine; null when none runs. Changes nothing. */
export async function examineCertificate(
  data_dir: string,
  local_url: string | null,
  now: Date,
): Promise<readonly MachineFinding[]> {
  const fault = findAcmeState(data_dir)?.fault ?? null
  const because = fault === null ? '' : `; the last order failed: ${fault}`
  const shown = local_url?.startsWith('https:') === true ? await readShown(local_url) : null
  const what = shown === null ? null : describe(shown, now)
  if (what === null && fault === null) return []
  return [
    {
      subject: 'certificate',
      severity: what === ENDED || what === TEMPORARY ? 'fault' : 'warning',
      fault: `${what ?? 'cannot be renewed'}${because}`,
      advice:
        fault === null
          ? 'Renew it: files are read again when they change (TIDEMARK_TLS_CERT, TIDEMARK_TLS_KEY).'
          : 'Its names must lead to this machine (DNS), and the authority must reach TIDEMARK_ACME_HTTP_PORT as port 80. The log says when the next order is.',
    },
  ]
}

function describe({ valid_from, valid_to }: PeerCertificate, now: Date): string | null {
  const until_ms = Date.parse(valid_to)
  if (valid_from === valid_to) return TEMPORARY
  const left_ms = until_ms - now.getTime()
  if (left_ms <= 0) return ENDED
  const lifetime_ms = until_ms - Date.parse(valid_from)
  if (left_ms > SOON_MS || left_ms > SOON_SHARE * lifetime_ms) return null
  return `ends on ${new Date(until_ms).toISOString()}`
}

/** The certificate that the server shows; null when it does not answer, which is another finding. */
async function readShown(local_url: string): Promise<PeerCertificate | null> {
  const { hostname, port } = new URL(local_url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false })
  try {
    return await new Promise((resolve) => {
      socket.setTimeout(ANSWER_TIMEOUT_MS, () => resolve(null))
      socket.once('error', () => resolve(null))
      socket.once('secureConnect', () => resolve(socket.getPeerCertificate()))
    })
  } finally {
    socket.destroy()
  }
}
