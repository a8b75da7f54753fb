/** The least a server can do with an event: parse its body and answer. The measure for capture. */

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    JSON.parse(await request.text())
    return Response.json({ status: 1 })
  },
})
process.stdout.write(`${server.port}\n`)
