/** Chooses where certificates come from: files, an authority, or neither, which is http. */
import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { type Config, ConfigError } from '../config.ts'
import { openAcme } from './acme/acme-certificates.ts'
import { AcmeFile } from './acme/acme-file.ts'
import type { CertificateSource } from './certificate.ts'
import { openCertificateFiles } from './certificate-files.ts'

type CertificateConfig = Pick<
  Config,
  | 'acme_ca'
  | 'acme_directory'
  | 'acme_domains'
  | 'acme_email'
  | 'acme_http_port'
  | 'acme_terms'
  | 'data_dir'
  | 'host'
  | 'port'
  | 'tls_cert'
  | 'tls_key'
>

type CertificateNeeds = {
  readonly log: Logger
  readonly now: () => Date
  /** False for a server whose names lead to another one. */
  readonly may_order: boolean
}

/** The source that the settings name; null for http. Throws a `ConfigError` if they name half of one, or two. */
export async function openCertificates(
  config: CertificateConfig,
  needs: CertificateNeeds,
  parts: AsyncDisposableStack,
): Promise<CertificateSource | null> {
  const { tls_cert, tls_key } = config
  requireOneSource(config)
  if (tls_cert !== null && tls_key !== null) return openCertificateFiles(tls_cert, tls_key)
  if (config.acme_domains.length === 0) return null
  const file = new AcmeFile(config.data_dir, (kept_as) =>
    needs.log.error({ kept_as }, 'acme.json is damaged: begins with a new account'),
  )
  const source = await openAcme({ ...needs, file, options: orderOptions(config) })
  parts.defer(() => source.close())
  return source
}

function requireOneSource(config: CertificateConfig): void {
  const { tls_cert, tls_key, acme_domains, acme_terms, acme_directory, acme_http_port } = config
  if ((tls_cert === null) !== (tls_key === null)) {
    throw new ConfigError('TIDEMARK_TLS_CERT and TIDEMARK_TLS_KEY must be set together')
  }
  if (acme_domains.length === 0) return
  if (tls_cert !== null) {
    throw new ConfigError('TIDEMARK_ACME_DOMAINS and TIDEMARK_TLS_CERT exclude each other')
  }
  if (!acme_terms) {
    const why = `it agrees to the terms of the certificate authority at ${acme_directory}`
    throw new ConfigError(`TIDEMARK_ACME_DOMAINS needs TIDEMARK_ACME_TERMS=accepted: ${why}`)
  }
  if (config.port === acme_http_port) {
    throw new ConfigError('TIDEMARK_ACME_HTTP_PORT must be another port than TIDEMARK_PORT')
  }
}

const orderOptions = (config: CertificateConfig) => ({
  directory: config.acme_directory,
  domains: config.acme_domains,
  email: config.acme_email,
  ca: config.acme_ca === null ? null : readFileSync(config.acme_ca, 'utf8'),
  challenges: { host: config.host, port: config.acme_http_port },
})
