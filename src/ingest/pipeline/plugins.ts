/** The step that runs a project's plugins on an event, and the cache of compiled plugins. */
import { isObject } from '../../json.ts'
import { TallySender } from '../../plugins/tally-sender.ts'
import {
  compileTransformations,
  type Transformations,
  transform,
} from '../../plugins/transformations.ts'
import type { CaptureProject } from '../../storage/control/project-tokens.ts'
import type { DropReason } from '../notes/counters.ts'
import type { EventDraft } from './event-draft.ts'

/** Compiled plugins by project row: a changed row is a new object, so that its plugins are compiled again. */
export class ProjectPlugins {
  readonly #compiled = new WeakMap<CaptureProject, Transformations>()
  readonly #sender: TallySender

  constructor(data_dir: string) {
    this.#sender = new TallySender(data_dir)
  }

  /** The project's plugins, compiled, in their order. */
  of(project: CaptureProject): Transformations {
    let transformations = this.#compiled.get(project)
    if (transformations === undefined) {
      transformations = compileTransformations(project.plugins ?? [])
      this.#compiled.set(project, transformations)
    }
    this.#sender.expect(transformations)
    return transformations
  }

  /** Sends the remaining tallies of the plugins. */
  close(): void {
    this.#sender.close()
  }
}

/** Runs the plugins, which may change or drop the event. They see `$geoip_*`, and later steps see their changes. */
export function runPlugins({
  request_context,
  event,
  properties,
  sent,
}: EventDraft): DropReason | null {
  const { transformations } = request_context
  if (transformations === undefined || transformations.steps.length === 0) return null
  const person = [properties['$set'], properties['$set_once'], sent['$set'], sent['$set_once']]
  const transformed = { event, properties, person: person.filter(isObject) }
  return transform(transformations, transformed) ? null : 'plugin'
}
