/** A certificate in files: read, checked, and read again when they change. */
import { readFileSync } from 'node:fs'
import { type Certificate, type CertificateSource, readCertificate } from './certificate.ts'

/** Time between two looks at the files: a read of some kilobytes. Watching misses links that are changed above them. */
const LOOK_MS = 5000

/** Opens the files that the settings name. They are read when the server listens. */
export function openCertificateFiles(tls_cert: string, tls_key: string): CertificateSource {
  const readTexts = (): readonly [string, string] => [
    readFileSync(tls_cert, 'utf8'),
    readFileSync(tls_key, 'utf8'),
  ]
  let seen = ''
  let served: Certificate | null = null
  let fault: string | null = null
  return {
    read() {
      const [cert, key] = readTexts()
      seen = cert + key
      served = check(cert, key)
      return served
    },
    watch(onChanged, onFault) {
      let is_missing = false
      const look = (): void => {
        try {
          const [cert, key] = readTexts()
          is_missing = false
          if (cert + key === seen) return
          seen = cert + key
          const changed = check(cert, key)
          onChanged(changed)
          served = changed
          fault = null
        } catch (error) {
          fault = error instanceof Error ? error.message : String(error)
          // A missing file is logged once, until it is there again.
          if (!is_missing) onFault(error)
          is_missing = error instanceof Error && 'syscall' in error
        }
      }
      const timer = setInterval(look, LOOK_MS)
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
