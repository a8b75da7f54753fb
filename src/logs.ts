/** Structured logs: one JSON object per line on standard error, with every key redacted. */
import pino, { type DestinationStream, type Logger } from 'pino'
import { currentRequestId } from './threads/this-thread.ts'

export type Log = Logger

/** Members with a credential, whatever its form. */
const SECRET_MEMBERS = ['api_key', 'api_token', 'authorization', 'personal_api_key', 'token']

/** Shorter presets are no secrets, and redacting them would make the log unreadable. */
const SECRET_LENGTH_MIN = 8

/** Keys of this server anywhere in a line. */
const KEY = /\bph([cx])_[A-Za-z0-9]{8,}/g

/** Buffer for a blocked standard error; lines beyond it are lost. */
const WAITING_LENGTH_MAX = 1024 * 1024

/** The number of the request that a line is about; a server counts them from its start. */
function requestFields(): { readonly request_id?: number } {
  const request_id = currentRequestId()
  return request_id === 0 ? {} : { request_id }
}

/** Ignores write errors: a log on a full disk must not end the server. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: WAITING_LENGTH_MAX })
  stream.on('error', () => undefined)
  return stream
}

/**
 * Opens the log. `secrets` are preset keys of any form, which are redacted in every line too. Lines are written
 * synchronously, so that the last one before a crash is not lost.
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
      mixin: requestFields,
      formatters: { level: (label) => ({ level: label }) },
      redact: SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`]),
    },
    scrubbed,
  )
}
