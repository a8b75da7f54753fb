/** The endpoints of a home for its edges, below `/_edge/v1/`, for keys with the scopes of EDGE_WAYS. */
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { batchEndpoint } from './batch.ts'
import { definitionsEndpoint } from './definitions.ts'
import { listEndpoint } from './list.ts'
import { personsEndpoint } from './persons.ts'

/** Creates the endpoints; a line adds one. */
export function edgeEndpoints(app: AppContext): readonly Endpoint[] {
  return [batchEndpoint(app), definitionsEndpoint(app), personsEndpoint(app), listEndpoint(app)]
}
