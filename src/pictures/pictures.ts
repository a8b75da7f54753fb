/** Pictures: PNGs of the page of a public link, drawn one at a time by a Chromium of this machine. */
import { Refusal } from '../errors.ts'
import { FairBudget } from '../threads/fair-budget.ts'
import { takeScreenshot } from './chromium.ts'
import { PICTURE_PATH, readPageFiles } from './page-files.ts'

const TIMEOUT_MS = 30_000
/** Pictures that are drawn or wait; the pictures of one project take at most six of these places. */
const WAITING_MAX = 8
const RETRY_AFTER_S = 10
const HEIGHT_MAX = 7000
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/** Tiles of one picture; more would be cut off at the bottom. */
export const PICTURE_TILES_MAX = 36

/** Widths in CSS pixels, of two pixels each: an insight, and a dashboard with its two columns and more. */
const PICTURE_WIDTHS = { insight: 960, dashboard: 1440 } as const

type WantedPicture = {
  readonly project_id: number
  /** The answer of a public link, as JSON. */
  readonly answer: Uint8Array
  readonly size: keyof typeof PICTURE_WIDTHS
}

type WaitingPicture = { readonly project_id: number; readonly begin: () => void }

type PictureLog = { error(fields: object, message: string): void }

/** Draws pictures, one at a time, in turns of their projects. */
export class Pictures {
  readonly #program: string | null
  readonly #log: PictureLog
  /** Places of pictures that wait or are drawn, by project. */
  readonly #places = new FairBudget(WAITING_MAX)
  #waiting: readonly WaitingPicture[] = []
  #is_drawing = false
  #turns = 0
  /** The last turn of each project since nothing waited. */
  readonly #last_turns = new Map<number, number>()

  /** `program` is the path of Chromium; without one every picture is refused. */
  constructor(program: string | null, log: PictureLog) {
    this.#program = program
    this.#log = log
  }

  /** Refuses (`invalid_choice`) on a machine without Chromium; `attr` is the field that asked for a picture. */
  requireChromium(attr: string): string {
    if (this.#program !== null) return this.#program
    const detail =
      'This server cannot draw pictures: it has found no Chromium. Install one, or name it in TIDEMARK_CHROMIUM.'
    throw new Refusal('invalid_choice', detail, { attr })
  }

  /**
   * Draws the answer of a public link, which is JSON, and returns a PNG. Refuses an answer that is too long, a picture
   * of a project that has used its share of the places, and a picture that the browser does not finish.
   */
  async draw({ project_id, answer, size }: WantedPicture): Promise<Uint8Array> {
    const program = this.requireChromium('export_format')
    const owners = [String(project_id)]
    if (answer.length > ANSWER_BYTES_MAX) {
      const detail = `A picture shows at most ${ANSWER_BYTES_MAX / 1024 / 1024} MB of answers.`
      throw new Refusal('query_too_large', detail)
    }
    if (!this.#places.hasRoom(1) || !this.#places.isFair(owners, 1)) {
      const detail = 'Too many pictures are being drawn. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    this.#places.take(owners, 1)
    try {
      await this.#turnOf(project_id)
      return await this.#draw(program, answer, size)
    } finally {
      this.#places.release(owners, 1)
      this.#is_drawing = false
      this.#beginNext()
    }
  }

  /** Resolves when a picture of the project may be drawn. */
  #turnOf(project_id: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = [...this.#waiting, { project_id, begin: resolve }]
    this.#beginNext()
    return promise
  }

  /** Begins the oldest picture of the project whose last turn is the longest ago (round robin). */
  #beginNext(): void {
    if (this.#is_drawing) return
    const lastTurn = ({ project_id }: WaitingPicture): number =>
      this.#last_turns.get(project_id) ?? 0
    const next = this.#waiting.toSorted((one, other) => lastTurn(one) - lastTurn(other))[0]
    if (next === undefined) return this.#last_turns.clear()
    this.#is_drawing = true
    this.#turns += 1
    this.#last_turns.set(next.project_id, this.#turns)
    this.#waiting = this.#waiting.filter((one) => one !== next)
    next.begin()
  }

  async #draw(
    program: string,
    answer: Uint8Array,
    size: WantedPicture['size'],
  ): Promise<Uint8Array> {
    const fileAt = await readPageFiles(answer)
    const width = PICTURE_WIDTHS[size]
    const wanted = { path: PICTURE_PATH, width, height_max: HEIGHT_MAX, scale: 2, fileAt }
    try {
      return await takeScreenshot(program, wanted, TIMEOUT_MS)
    } catch (err) {
      this.#log.error({ err }, 'a picture cannot be drawn')
      throw new Refusal('query_failed', 'The browser of this server did not draw the picture.')
    }
  }
}
