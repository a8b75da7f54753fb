/** Certificate files: what a look at changed, missing and unusable ones does. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCertificateFiles } from '../../src/certificates/certificate-files.ts'
import { makeCertificate, NO_OPENSSL } from '../flows/processes/certificates.ts'

setDefaultTimeout(60_000)

const LOOK_MS = 20
const folder = mkdtempSync(join(tmpdir(), 'tidemark-certificate-files-'))
const cert = join(folder, 'live.crt')
const key = join(folder, 'live.key')

const install = (name: string): void => {
  copyFileSync(join(folder, `${name}.key`), key)
  copyFileSync(join(folder, `${name}.crt`), cert)
}

describe.skipIf(NO_OPENSSL !== null)('certificate files', () => {
  beforeAll(async () => {
    await makeCertificate(folder, 'first')
    await makeCertificate(folder, 'second')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('are tried again while their listener cannot be opened, which is logged once', async () => {
    install('first')
    const files = openCertificateFiles(cert, key, LOOK_MS)
    files.read()
    let tries = 0
    const faults: string[] = []
    const served = Promise.withResolvers<void>()
    const unwatch = files.watch(
      () => {
        tries += 1
        if (tries < 3) throw new Error('no file handle is left')
        served.resolve()
      },
      (error) => faults.push(error instanceof Error ? error.message : String(error)),
    )
    // Renamed last, as tools do: a look between finds a pair that does not match.
    copyFileSync(join(folder, 'second.key'), `${key}.new`)
    copyFileSync(join(folder, 'second.crt'), cert)
    renameSync(`${key}.new`, key)
    await served.promise
    unwatch()
    expect(tries).toBe(3)
    expect(faults.filter((fault) => fault === 'no file handle is left')).toHaveLength(1)
    expect(files.state().fault).toBeNull()
  })

  test('that are missing for a while, and come back unchanged, are no fault any more', async () => {
    install('first')
    const files = openCertificateFiles(cert, key, LOOK_MS)
    files.read()
    const missing = Promise.withResolvers<unknown>()
    const changes: unknown[] = []
    const unwatch = files.watch((changed) => changes.push(changed), missing.resolve)
    renameSync(cert, `${cert}.away`)
    await missing.promise
    expect(files.state().fault).toContain('ENOENT')
    renameSync(`${cert}.away`, cert)
    while (files.state().fault !== null) await Bun.sleep(LOOK_MS)
    unwatch()
    expect(changes).toEqual([])
  })
})
