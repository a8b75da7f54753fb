/** A picture of a part of the page: its elements are copied with their computed styles into an SVG, which is drawn. */

const SCALE = 2
const MARGIN = 24

/** Makes a PNG of an element as it looks now. Throws when the browser does not draw HTML in SVG. */
export async function pictureOf(element: HTMLElement): Promise<Blob> {
  const { width, height } = element.getBoundingClientRect()
  const copy = copyOf(element)
  copy.setAttribute('xmlns', 'http://www.w3.org/1999/xhtml')
  const size = { width: Math.ceil(width) + 2 * MARGIN, height: Math.ceil(height) + 2 * MARGIN }
  const html = new XMLSerializer().serializeToString(copy)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}"><foreignObject x="${MARGIN}" y="${MARGIN}" width="${Math.ceil(width)}" height="${Math.ceil(height)}">${html}</foreignObject></svg>`
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = size.width * SCALE
  canvas.height = size.height * SCALE
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('no canvas')
  context.fillStyle = getComputedStyle(document.documentElement).backgroundColor
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.scale(SCALE, SCALE)
  context.drawImage(image, 0, 0)
  const blob = await new Promise<Blob | null>((resolve) => {
    canvas.toBlob(resolve, 'image/png')
  })
  if (blob === null) throw new Error('no picture')
  return blob
}

function copyOf(element: HTMLElement): HTMLElement {
  const copy = element.cloneNode(true)
  if (!(copy instanceof HTMLElement)) throw new Error('not an element')
  const [originals, copies] = [element, copy].map((root) => [root, ...root.querySelectorAll('*')])
  for (const [index, original] of (originals ?? []).entries()) {
    const target = copies?.[index]
    if (!(target instanceof HTMLElement || target instanceof SVGElement)) continue
    const computed = getComputedStyle(original)
    for (const name of computed) target.style.setProperty(name, computed.getPropertyValue(name))
    if (original instanceof HTMLCanvasElement) target.replaceWith(imageOf(original, target))
  }
  for (const unseen of copy.querySelectorAll('.unseen')) unseen.remove()
  return copy
}

/** A copied canvas is empty: it becomes an image. */
function imageOf(canvas: HTMLCanvasElement, copy: HTMLElement | SVGElement): HTMLImageElement {
  const image = document.createElement('img')
  image.src = canvas.toDataURL()
  image.style.cssText = copy.style.cssText
  return image
}
