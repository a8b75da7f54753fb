/** The step that runs a project's plugins over an event, and what they are compiled into. */
import { TallySender } from '../../plugins/tally-sender.ts'
import {
  compileTransformations,
  type Transformations,
  transform,
} from '../../plugins/transformations.ts'
import type { CaptureProject } from '../../storage/control/project-tokens.ts'
import type { DropReason } from '../notes/counters.ts'
import type { EventDraft } from './event-draft.ts'

type PluginProperties = { [name: string]: unknown }

/** Compiles each project's plugins once for as long as they are remembered as they are. */
export class ProjectPlugins {
  readonly #compiled = new WeakMap<CaptureProject, Transformations>()
  readonly #sender: TallySender

  constructor(data_dir: string) {
    this.#sender = new TallySender(data_dir)
  }

  /** What the project's plugins do, in their order. */
  of(project: CaptureProject): Transformations {
    let transformations = this.#compiled.get(project)
    if (transformations === undefined) {
      transformations = compileTransformations(project.plugins ?? [])
      this.#compiled.set(project, transformations)
    }
    this.#sender.expect(transformations)
    return transformations
  }

  /** Tells what the plugins have done since it was told last. */
  close(): void {
    this.#sender.close()
  }
}

/** Where the event has been located but nothing has been read from it yet. */
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

function isObject(value: unknown): value is PluginProperties {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
