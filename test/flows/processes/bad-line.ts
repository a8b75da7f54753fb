/** A line between two servers that can be cut, slow, or lose what comes back: a TCP proxy in the test's process. */

/** How the line is. `lost_answers`: requests arrive, answers do not. `cut`: it breaks off in the middle of requests. */
export type LineState = 'closed' | 'cut' | 'lost_answers' | 'open' | 'slow'

export type BadLine = {
  readonly url: string
  /** Changes the line; what is under way on it breaks off. */
  set(state: LineState): void
  close(): void
}

type Link = {
  readonly socket: Bun.Socket<unknown>
  readonly peer: Promise<Bun.Socket<unknown>>
  /** What was passed on, in order. */
  passed: Promise<void>
  bytes: number
}

/** The bytes that pass a slow line at once, and the ms between them. */
const SLOW_BYTES = 4096
const SLOW_MS = 5

/** Opens a line to a port of this machine. `random` decides where requests are cut. */
export function openBadLine(port: number, random: () => number): BadLine {
  let state: LineState = 'open'
  const links = new Set<Link>()

  const drop = (link: Link): void => {
    links.delete(link)
    link.socket.terminate()
    void link.peer.then(
      (peer) => peer.terminate(),
      () => undefined,
    )
  }
  const write = async (to: Bun.Socket<unknown>, bytes: Uint8Array): Promise<void> => {
    let rest = bytes
    while (rest.length > 0) {
      const is_slow = state === 'slow'
      const written = to.write(is_slow ? rest.subarray(0, SLOW_BYTES) : rest)
      if (written < 0) return
      rest = rest.subarray(written)
      if (is_slow || written === 0) await Bun.sleep(SLOW_MS)
    }
  }
  const pass = (link: Link, to: Promise<Bun.Socket<unknown>>, bytes: Uint8Array): void => {
    const copy = bytes.slice()
    link.passed = link.passed.then(async () => write(await to, copy)).catch(() => drop(link))
  }
  const connect = (link: { current: Link | null }): Promise<Bun.Socket<unknown>> =>
    Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data(_socket, bytes) {
          if (link.current === null) return
          if (state === 'lost_answers') drop(link.current)
          else pass(link.current, Promise.resolve(link.current.socket), bytes)
        },
        close() {
          if (link.current !== null) drop(link.current)
        },
        error() {},
      },
    })
  const server = Bun.listen<{ current: Link | null }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { current: null }
        if (state === 'closed') {
          socket.terminate()
          return
        }
        const peer = connect(socket.data)
        const link: Link = { socket, peer, passed: Promise.resolve(), bytes: 0 }
        socket.data.current = link
        links.add(link)
        peer.catch(() => drop(link))
      },
      data({ data: { current: link } }, bytes) {
        if (link === null) return
        link.bytes += bytes.length
        if (state !== 'cut' || random() < 0.5) pass(link, link.peer, bytes)
        else {
          pass(link, link.peer, bytes.subarray(0, Math.floor(random() * bytes.length)))
          void link.passed.then(() => drop(link))
        }
      },
      close({ data }) {
        if (data.current !== null) drop(data.current)
      },
      error() {},
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    set(next) {
      state = next
      for (const link of links) drop(link)
    },
    close() {
      for (const link of links) drop(link)
      server.stop(true)
    },
  }
}
