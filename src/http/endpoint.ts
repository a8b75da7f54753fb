/** What is mounted on the router: a method, a path, and how it is answered. */

/** What stands in the place of `:name` in a path. */
export type Params = Readonly<Record<string, string>>

/** The part of Bun's server that endpoints use; null where requests come without a socket. */
export type Socket = {
  requestIP(request: Request): { readonly address: string } | null
} | null

export type Endpoint = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** Served with and without a final slash. */
  readonly path: string
  readonly answer: (
    request: Request,
    params: Params,
    socket: Socket,
  ) => Response | Promise<Response>
}
