/** The certificate of https: read from its files, checked, and read again when they change. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Config, ConfigError } from '../config.ts'

/** Time between two looks at the files: a read of some kilobytes. Watching misses links that are changed above them. */
const LOOK_MS = 5000

/** A certificate chain with its key, both in PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  readonly valid_until: Date
}

/** The files that the settings name. */
export type CertificateFiles = {
  /** Reads and checks them. Throws a `ConfigError`. */
  read(): Certificate
  /**
   * Calls `onChanged` with each new certificate, and `onFault` once for each state of the files that is none, or that
   * `onChanged` throws at. Returns the function that ends it.
   */
  watch(onChanged: (changed: Certificate) => void, onFault: (error: unknown) => void): () => void
}

/** The certificate of the settings; null if they name none. Throws a `ConfigError` if they name half of one. */
export function openCertificate({
  tls_cert,
  tls_key,
}: Pick<Config, 'tls_cert' | 'tls_key'>): CertificateFiles | null {
  if (tls_cert === null && tls_key === null) return null
  if (tls_cert === null || tls_key === null) {
    throw new ConfigError('TIDEMARK_TLS_CERT and TIDEMARK_TLS_KEY are only of use together')
  }
  const readTexts = (): readonly [string, string] => [
    readFileSync(tls_cert, 'utf8'),
    readFileSync(tls_key, 'utf8'),
  ]
  let seen = ''
  return {
    read() {
      const [cert, key] = readTexts()
      seen = cert + key
      return check(cert, key)
    },
    watch(onChanged, onFault) {
      let is_missing = false
      const look = (): void => {
        try {
          const [cert, key] = readTexts()
          is_missing = false
          if (cert + key === seen) return
          seen = cert + key
          onChanged(check(cert, key))
        } catch (error) {
          // A missing file is logged once, until it is there again.
          if (!is_missing) onFault(error)
          is_missing = error instanceof Error && 'syscall' in error
        }
      }
      const timer = setInterval(look, LOOK_MS)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}

/** Checks that the key is the certificate's: a pair of which one half is written yet is no pair. */
function check(cert: string, key: string): Certificate {
  const certificate = parse('TIDEMARK_TLS_CERT', () => new X509Certificate(cert))
  const private_key = parse('TIDEMARK_TLS_KEY', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(private_key)) {
    throw new ConfigError('TIDEMARK_TLS_KEY is not the key of the certificate in TIDEMARK_TLS_CERT')
  }
  return { cert, key, valid_until: new Date(certificate.validTo) }
}

function parse<Value>(setting: string, read: () => Value): Value {
  try {
    return read()
  } catch (cause) {
    throw new ConfigError(`${setting} names a file that is not in PEM: ${String(cause)}`, { cause })
  }
}
