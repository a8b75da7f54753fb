/** A server of the S3 protocol, and a wire in front of it that counts requests and can be cut. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { openStore } from '../../../src/backup/store/open-store.ts'
import type { BackupStore, BucketAccess } from '../../../src/backup/store/store.ts'

const BUCKET = 'acme-backups'
const HEAD = /^(?:DELETE|GET|HEAD|POST|PUT) \S+/

export class BucketServer implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'tidemark-bucket-'))
  /** Method and path of each request. */
  readonly requests: string[] = []
  /** Once a request that begins with this has sent as many bytes, its connection is reset. */
  cut: { readonly begins: string; readonly bytes: number } | null = null
  #server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: this.directory,
    configureBuckets: [{ name: BUCKET }],
  })
  #sockets = new Set<Socket>()
  #port = 0
  #wire = createServer((client) => this.#pass(client))

  async start(): Promise<void> {
    this.#port = (await this.#server.run()).port
    await new Promise<void>((resolve) => this.#wire.listen(0, '127.0.0.1', resolve))
  }

  /** The store below a prefix, for a caller with the right keys or others. */
  open(access: Partial<BucketAccess> = {}, bucket = BUCKET): BackupStore {
    return openStore({ kind: 'bucket', bucket, prefix: 'tidemark/' }, this.access(access))
  }

  access(changes: Partial<BucketAccess> = {}): BucketAccess {
    const address = this.#wire.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const endpoint = `http://127.0.0.1:${port}`
    const key = { key_id: 'S3RVER', secret: 'S3RVER', session_token: null }
    return { endpoint, region: 'us-east-1', ...key, ...changes }
  }

  #pass(client: Socket): void {
    const upstream = connect(this.#port, '127.0.0.1')
    for (const socket of [client, upstream]) this.#sockets.add(socket)
    let request = ''
    let bytes = 0
    client.on('data', (data: Buffer) => {
      const [head] = HEAD.exec(data.toString('latin1', 0, 1000)) ?? []
      if (head !== undefined) {
        this.requests.push(head)
        request = head
        bytes = 0
      }
      bytes += data.byteLength
      const { cut } = this
      if (cut !== null && request.startsWith(cut.begins) && bytes >= cut.bytes) {
        // What came before the cut has reached the server.
        upstream.end(data.subarray(0, cut.bytes))
        client.resetAndDestroy()
      } else {
        upstream.write(data)
      }
    })
    upstream.on('data', (data) => client.write(data))
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy())
      socket.on('close', () => other.end())
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#wire.close()
    await this.#server.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
