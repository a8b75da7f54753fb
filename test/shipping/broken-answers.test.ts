/** Answers to inserts that get lost or come from another server: no event is lost, none is there twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { ShippingWorld } from './shipping-world.ts'

setDefaultTimeout(120_000)

/** Whether a request stores events, and not claims or persons. */
const storesEvents = (request: string): boolean => request.includes('query=INSERT+INTO+events')

/** A way to the server on which answers to inserts of events break off after some bytes of theirs. */
function cutAnswers(target: string, bytes_kept: number) {
  const { hostname, port } = new URL(target)
  let inserts = 0
  type Way = { there: Promise<Bun.Socket<{ kept: number }>> }
  const listener = Bun.listen<Way>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(here) {
        here.data = {
          there: Bun.connect<{ kept: number }>({
            hostname,
            port: Number(port),
            data: { kept: Number.POSITIVE_INFINITY },
            socket: {
              data(there, bytes) {
                const { kept } = there.data
                here.write(bytes.subarray(0, kept))
                there.data.kept -= bytes.length
                if (there.data.kept <= 0) here.terminate()
              },
              close: () => void here.end(),
            },
          }),
        }
      },
      async data(here, bytes) {
        const there = await here.data.there
        if (storesEvents(bytes.toString('latin1'))) {
          inserts += 1
          there.data.kept = bytes_kept
        }
        there.write(bytes)
      },
      close: (here) => void here.data.there.then((there) => there.end()),
    },
  })
  return {
    url: `http://127.0.0.1:${listener.port}`,
    inserts: () => inserts,
    [Symbol.dispose]: () => listener.stop(true),
  }
}

describe.skipIf(!hasClickHouse())('an insert', () => {
  let cluster: ClickHouseCluster
  let world: ShippingWorld

  beforeAll(async () => {
    cluster = await startCluster()
    world = new ShippingWorld(cluster)
  }, 120_000)

  afterAll(async () => {
    world?.[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  let uuids: string[] = []

  test.each([0, 12, 150, 800])(
    'whose answer breaks off after %d bytes is sent again and stored once',
    async (bytes_kept) => {
      uuids.push(...world.send(300))
      using way = cutAnswers(cluster.url, bytes_kept)
      expect(await world.ship({ urls: [way.url] })).toBe(1)
      expect(way.inserts()).toBe(1)
      // It was stored: only its answer is lost.
      expect(await world.stored()).toEqual(uuids.toSorted())
      expect(await world.ship()).toBe(0)
      expect(await world.stored()).toEqual(uuids.toSorted())
    },
  )

  test.each(['', '<html>Sign in</html>'])(
    'that another server takes with 200 and %p has not been stored, and is sent again',
    async (body) => {
      uuids.push(...world.send(300))
      const before = await world.stored()
      let inserts = 0
      using other = Bun.serve({
        port: 0,
        fetch: async (request): Promise<Response> => {
          const { url, headers } = request
          if (storesEvents(url)) {
            inserts += 1
            return new Response(body)
          }
          headers.set('accept-encoding', 'identity')
          const to = `${cluster.url}${url.slice(url.indexOf('/?'))}`
          return fetch(to, { method: 'POST', headers, body: await request.bytes() })
        },
      })
      expect(await world.ship({ urls: [other.url.origin] })).toBe(1)
      expect(inserts).toBe(1)
      expect(await world.stored()).toEqual(before)
      expect(await world.ship()).toBe(0)
      expect(await world.stored()).toEqual(uuids.toSorted())
    },
  )
})
