/** The address from which a browser fetches a file that a call has begun. */
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { streamWithoutIdleTimeout } from '../idle-timeout.ts'
import { DOWNLOADS_PATH } from './downloads.ts'

/** Creates the endpoint of the addresses. The secret in it is the right to read the file. */
export function downloadEndpoints(app: AppContext): readonly Endpoint[] {
  return [
    {
      method: 'GET',
      path: `${DOWNLOADS_PATH}:token/`,
      answer: (request, { token }, socket) => {
        const look = () => app.downloads.take(token ?? '')
        const { stream, headers } = app.failed_keys.guard(request, socket, look)
        const body = streamWithoutIdleTimeout({ request, socket }, stream)
        return new Response(body, { headers: { ...headers, ...FILE_HEADERS } })
      },
    },
  ]
}

const FILE_HEADERS = {
  // Without a name in it, the page's link names the file.
  'Content-Disposition': 'attachment',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}
