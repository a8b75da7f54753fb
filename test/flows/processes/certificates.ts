/** Certificates for tests, made by openssl. */
import { join } from 'node:path'

/** Why tests with certificates are skipped; null where openssl is installed. */
export const NO_OPENSSL = Bun.which('openssl') === null ? 'openssl is not installed' : null

export type CertificatePaths = { readonly cert: string; readonly key: string }

/** Writes a self-signed certificate of `localhost` and 127.0.0.1 whose common name is `name`, and its key. */
export async function makeCertificate(folder: string, name: string): Promise<CertificatePaths> {
  const paths = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -addext subjectAltName=DNS:localhost,IP:127.0.0.1'
  const files = ['-subj', `/CN=${name}`, '-out', paths.cert, '-keyout', paths.key]
  const child = Bun.spawn(['openssl', ...words.split(' '), ...files], { stderr: 'pipe' })
  const stderr = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(stderr)
  return paths
}
