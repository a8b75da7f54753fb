/** Structured logs: one JSON object a line on standard error, in which no key ever appears. */
import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/** Members that hold a credential, whatever its form. */
const SECRET_MEMBERS = ['api_key', 'api_token', 'authorization', 'personal_api_key', 'token']

/** Shorter presets are no secrets, and taking them out of every line would make the log unreadable. */
const SECRET_LENGTH_MIN = 8

/** Keys of ours, wherever in a line they stand. */
const KEY = /\bph([cx])_[A-Za-z0-9]{8,}/g

/** Text that waits while standard error takes none; what comes beyond it is lost. */
const WAITING_LENGTH_MAX = 1024 * 1024

/** A log that lies on a full disk must not end the server, which has ways to go on. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: WAITING_LENGTH_MAX })
  stream.on('error', () => undefined)
  return stream
}

/**
 * Opens the log. `secrets` are preset keys, which may look like anything: they are taken out of every line too.
 * Lines are written at once, so that the last one before a crash is there.
 */
export function openLog(
  level: string,
  secrets: readonly (string | null)[] = [],
  destination: DestinationStream = standardError(),
): Log {
  const known = secrets.flatMap((secret) =>
    secret !== null && secret.length >= SECRET_LENGTH_MIN ? [secret] : [],
  )
  const scrubbed: DestinationStream = {
    write(line) {
      const masked = line.replace(KEY, 'ph$1_[redacted]')
      destination.write(
        known.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), masked),
      )
    },
  }
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`]),
    },
    scrubbed,
  )
}
