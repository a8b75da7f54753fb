/** A certificate with its key: read from texts, and where the server has it from. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { ConfigError } from '../config.ts'

/** A certificate chain with its key, both in PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  readonly valid_from: Date
  readonly valid_until: Date
}

/** A report on the certificate that is served. */
export type CertificateState = {
  /** Null before the server listens, and while it has none but a temporary one. */
  readonly certificate: Pick<Certificate, 'valid_from' | 'valid_until'> | null
  /** True for one that the server orders by itself. */
  readonly is_ordered: boolean
  /** The reason that the next one cannot be had; null while nothing is wrong. */
  readonly fault: string | null
  /** Orders since the start; null without any. */
  readonly orders: { readonly done: number; readonly failed: number } | null
}

/** Where the server has its certificates from. */
export type CertificateSource = {
  /** The certificate to serve with. Throws a `ConfigError` when there is none. */
  read(): Certificate
  /**
   * Calls `onChanged` with each new certificate. Calls `onFault` once for each state of the files that is no certificate, or
   * for which `onChanged` throws. Returns the function that ends it.
   */
  watch(onChanged: (changed: Certificate) => void, onFault: (error: unknown) => void): () => void
  state(): CertificateState
}

/** Reads a pair. Throws a `ConfigError` if the key is not the certificate's: one half of a pair may be written yet. */
export function readCertificate(
  { cert, key }: Pick<Certificate, 'cert' | 'key'>,
  names: { readonly cert: string; readonly key: string },
): Certificate {
  const certificate = parse(names.cert, () => new X509Certificate(cert))
  const private_key = parse(names.key, () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(private_key)) {
    throw new ConfigError(`${names.key} is not the key of the certificate in ${names.cert}`)
  }
  return {
    cert,
    key,
    valid_from: new Date(certificate.validFrom),
    valid_until: new Date(certificate.validTo),
  }
}

function parse<Value>(name: string, read: () => Value): Value {
  try {
    return read()
  } catch (cause) {
    throw new ConfigError(`${name} is not in PEM: ${String(cause)}`, { cause })
  }
}
