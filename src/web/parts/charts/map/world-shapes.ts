/** The outlines of countries as SVG paths, in the Equal Earth projection: areas keep their proportions. */
import world from 'world-atlas/countries-110m.json'

type CountryShape = {
  /** ISO 3166-1, two letters: `NL`. */
  readonly code: string
  readonly path: string
}

/** Width of the map in its own units; `MAP_HEIGHT` leaves out the Antarctic. */
export const MAP_WIDTH = 1000
export const MAP_HEIGHT = 436

/** TopoJSON: neighbours share their border's arc. A negative number is an arc read backwards: `~2` is the third. */
type Ring = readonly number[]
type Geometry = {
  readonly type: string
  readonly id?: string
  readonly properties: { readonly name: string }
  readonly arcs?: unknown
}

/** ISO 3166-1: the numbers of the outlines, and the codes of two letters that addresses are known by. */
const CODES =
  '004AF 008AL 012DZ 024AO 031AZ 032AR 036AU 040AT 044BS 050BD 051AM 056BE 064BT 068BO 070BA 072BW 076BR 084BZ 090SB 096BN 100BG 104MM 108BI 112BY 116KH 120CM 124CA 140CF 144LK 148TD 152CL 156CN 158TW 170CO 178CG 180CD 188CR 191HR 192CU 196CY 203CZ 204BJ 208DK 214DO 218EC 222SV 226GQ 231ET 232ER 233EE 238FK 242FJ 246FI 250FR 260TF 262DJ 266GA 268GE 270GM 275PS 276DE 288GH 300GR 304GL 320GT 324GN 328GY 332HT 340HN 348HU 352IS 356IN 360ID 364IR 368IQ 372IE 376IL 380IT 384CI 388JM 392JP 398KZ 400JO 404KE 408KP 410KR 414KW 417KG 418LA 422LB 426LS 428LV 430LR 434LY 440LT 442LU 450MG 454MW 458MY 466ML 478MR 484MX 496MN 498MD 499ME 504MA 508MZ 512OM 516NA 524NP 528NL 540NC 548VU 554NZ 558NI 562NE 566NG 578NO 586PK 591PA 598PG 600PY 604PE 608PH 616PL 620PT 624GW 626TL 630PR 634QA 642RO 643RU 646RW 682SA 686SN 688RS 694SL 703SK 704VN 705SI 706SO 710ZA 716ZW 724ES 728SS 729SD 732EH 740SR 748SZ 752SE 756CH 760SY 762TJ 764TH 768TG 780TT 784AE 788TN 792TR 795TM 800UG 804UA 807MK 818EG 826GB 834TZ 840US 854BF 858UY 860UZ 862VE 887YE 894ZM'

const CODE_BY_NUMBER: ReadonlyMap<string, string> = new Map(
  CODES.split(' ').map((pair) => [pair.slice(0, 3), pair.slice(3)]),
)

/** Outlines without a number of their own, by their names. */
const CODE_BY_NAME: Readonly<Record<string, string>> = {
  Kosovo: 'XK',
  'N. Cyprus': 'CY',
  Somaliland: 'SO',
}

/** All countries that the map has: those of less than some 2,000 km² are too small for it. */
export function countryShapes(): readonly CountryShape[] {
  const geometries: readonly Geometry[] = world.objects.countries.geometries
  const arcs = readArcs()
  return geometries.flatMap(({ type, id, properties, arcs: parts }) => {
    const code = CODE_BY_NUMBER.get(id ?? '') ?? CODE_BY_NAME[properties.name]
    if (code === undefined) return []
    const polygons = (type === 'Polygon' ? [parts] : parts) as readonly (readonly Ring[])[]
    return [{ code, path: polygons.flatMap((rings) => rings.map(ringPath)).join('') }]
  })

  function ringPath(ring: Ring): string {
    const points = ring.flatMap((arc) =>
      arc < 0 ? (arcs[~arc] ?? []).toReversed() : (arcs[arc] ?? []),
    )
    return `M${unwrap(points).map(project).join('L')}Z`
  }
}

type Point = readonly [longitude: number, latitude: number]

/** Arcs in degrees. In the file each point is the difference to the one before it, in whole steps. */
function readArcs(): readonly (readonly Point[])[] {
  const { scale, translate } = world.transform
  const [scale_x = 1, scale_y = 1] = scale
  const [left = 0, bottom = 0] = translate
  return world.arcs.map((arc) => {
    let [x, y] = [0, 0]
    return arc.map(([dx = 0, dy = 0]): Point => {
      x += dx
      y += dy
      return [x * scale_x + left, y * scale_y + bottom]
    })
  })
}

/** A ring across the date line goes on beyond 180° east, instead of back through the whole map: `179, -179` → `179, 181`. */
function unwrap(points: readonly Point[]): readonly Point[] {
  let turn = 0
  let before = points[0]?.[0] ?? 0
  const whole = points.map(([longitude, latitude]): Point => {
    if (longitude - before > 180) turn -= 360
    if (longitude - before < -180) turn += 360
    before = longitude
    return [longitude + turn, latitude]
  })
  const is_west = whole.some(([longitude]) => longitude < -180)
  return is_west ? whole.map(([longitude, latitude]) => [longitude + 360, latitude]) : whole
}

const [A1, A2, A3, A4] = [1.340264, -0.081106, 0.000893, 0.003796]
const M = Math.sqrt(3) / 2
const WORLD_WIDTH = 5.4133
/** The upper edge of the map is at 84° north. */
const TOP = 1.312

/** Degrees to map units. Šavrič, Patterson and Jenny, “The Equal Earth map projection”, 2018. */
function project([longitude, latitude]: Point): string {
  const degree = Math.PI / 180
  const angle = Math.asin(M * Math.sin(latitude * degree))
  const square = angle * angle
  const sixth = square * square * square
  const x =
    (longitude * degree * Math.cos(angle)) /
    (M * (A1 + 3 * A2 * square + sixth * (7 * A3 + 9 * A4 * square)))
  const y = angle * (A1 + A2 * square + sixth * (A3 + A4 * square))
  const unit = MAP_WIDTH / WORLD_WIDTH
  return `${Math.round((x + WORLD_WIDTH / 2) * unit * 10) / 10},${Math.round((TOP - y) * unit * 10) / 10}`
}
