/** A certificate in files: read, checked, and read again when they change. */
import { readFileSync } from 'node:fs'
import { errorMessage } from '../error-message.ts'
import { type Certificate, type CertificateSource, readCertificate } from './certificate.ts'

/** Time between two looks at the files: a read of some kilobytes. Watching misses links that are changed above them. */
const LOOK_MS = 5000

/** Opens the files that the settings name. They are read when the server listens. */
export function openCertificateFiles(
  tls_cert: string,
  tls_key: string,
  look_ms = LOOK_MS,
): CertificateSource {
  const readTexts = (): readonly [string, string] => [
    readFileSync(tls_cert, 'utf8'),
    readFileSync(tls_key, 'utf8'),
  ]
  /** Both files as they are served. */
  let served_texts = ''
  let served: Certificate | null = null
  let fault: string | null = null
  return {
    read() {
      const [cert, key] = readTexts()
      served = check(cert, key)
      served_texts = cert + key
      return served
    },
    watch(onChanged, onFault) {
      /** Both files as they could not be served, empty for a missing one: each state is logged once. */
      let refused_texts: string | null = null
      const look = (): void => {
        let texts = ''
        try {
          const [cert, key] = readTexts()
          texts = cert + key
          if (texts !== served_texts) {
            const changed = check(cert, key)
            // May throw for a while: the next look tries again.
            onChanged(changed)
            served = changed
            served_texts = texts
          }
          fault = null
          refused_texts = null
        } catch (error) {
          fault = errorMessage(error)
          if (texts !== refused_texts) onFault(error)
          refused_texts = texts
        }
      }
      const timer = setInterval(look, look_ms)
      timer.unref()
      return () => clearInterval(timer)
    },
    state: () => ({ certificate: served, is_ordered: false, fault, orders: null }),
  }
}

function check(cert: string, key: string): Certificate {
  const names = { cert: 'the file of TIDEMARK_TLS_CERT', key: 'the file of TIDEMARK_TLS_KEY' }
  return readCertificate({ cert, key }, names)
}
