/** Pictures: PNGs of what a public link would show, drawn one at a time by a Chromium of this machine. */
import { Refusal } from '../errors.ts'
import { takeScreenshot } from './chromium.ts'
import { PICTURE_PATH, readPageFiles } from './page-files.ts'

const TIMEOUT_MS = 30_000
const WAITING_MAX = 8
const RETRY_AFTER_S = 10
const HEIGHT_MAX = 7000
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/** Tiles of one picture; more would be cut off at the bottom. */
export const PICTURE_TILES_MAX = 36

/** Widths in CSS pixels, of two pixels each: an insight, and a dashboard with its two columns and more. */
export const PICTURE_WIDTHS = { insight: 960, dashboard: 1440 } as const

type PictureLog = { error(fields: object, message: string): void }

/** Draws pictures, one at a time. */
export class Pictures {
  readonly #program: string | null
  readonly #log: PictureLog
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** `program` is the path of Chromium; without one every picture is refused. */
  constructor(program: string | null, log: PictureLog) {
    this.#program = program
    this.#log = log
  }

  /** Refuses (`invalid_choice`) on a machine without Chromium; `attr` is the field that asked for a picture. */
  requireChromium(attr: string): string {
    if (this.#program !== null) return this.#program
    const detail =
      'This server draws no pictures: it has found no Chromium. Install one, or name it in TIDEMARK_CHROMIUM.'
    throw new Refusal('invalid_choice', detail, { attr })
  }

  /**
   * Draws the answer of a public link, as JSON, and returns a PNG. Refuses answers that are too long, more pictures than may
   * wait, and a picture that the browser does not finish.
   */
  async draw(answer: Uint8Array, size: keyof typeof PICTURE_WIDTHS): Promise<Uint8Array> {
    const program = this.requireChromium('export_format')
    if (answer.length > ANSWER_BYTES_MAX) {
      const detail = `A picture shows at most ${ANSWER_BYTES_MAX / 1024 / 1024} MB of answers.`
      throw new Refusal('query_too_large', detail)
    }
    if (this.#waiting >= WAITING_MAX) {
      const detail = 'Too many pictures are being drawn. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    this.#waiting += 1
    const before = this.#last
    const drawn = before.catch(() => undefined).then(() => this.#draw(program, answer, size))
    this.#last = drawn
    try {
      return await drawn
    } finally {
      this.#waiting -= 1
    }
  }

  async #draw(
    program: string,
    answer: Uint8Array,
    size: keyof typeof PICTURE_WIDTHS,
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
