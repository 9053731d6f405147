// Serial OCT: raw tiles to a volume, a task for each step of each slice.  The steps are those of `penstock oct reconstruct`,
// and so are the names and bytes of what they write.
//
//   nextflow run workflows/oct/main.nf --input subject/raw --output out --shifts_xy subject/raw/shifts_xy.csv \
//     --resolution 10 --axial_resolution 10 --slicing_interval_mm 0.24 --depth_um 520

nextflow.enable.dsl = 2

def two(z) { String.format('%02d', z as int) }

// Memory of a GPU that a task is held to, MiB; 0: none.
def gpu_mib(task) {
    if (!params.use_gpu) return 0
    params.gpu_task_mib[task.process] ?: error("gpu_task_mib says nothing of ${task.process}")
}
// How the command of a task begins and ends: on a GPU that has room where one is asked for, and within its memory.
def penstock(task) { "on_free_gpu ${gpu_mib(task)} ${params.penstock} oct" }
def within(task) {
    def mib = params.use_gpu ? gpu_mib(task) - params.gpu_context_mib : task.memory.toMega() - 256
    "--device ${params.use_gpu ? 'auto' : 'cpu'} --budget ${mib}MiB --threads ${task.cpus}"
}

// Slices that slice_config.csv says are not to be used; shifts may name them.
def left_out() {
    if (!params.slice_config) return []
    rows = file(params.slice_config, checkIfExists: true).splitCsv(header: true, strip: true)
    odd = rows.find { !(it.use?.toLowerCase() in ['true', '1', 'yes', 'false', '0', 'no']) }
    if (odd) error "${params.slice_config}: slice ${odd.slice_id}: use is '${odd.use}', neither true nor false"
    rows.findAll { it.use.toLowerCase() in ['false', '0', 'no'] }.collect { (it.slice_id as BigDecimal).intValue() }
}
def may_miss() { params.missing_slices || params.slice_config }

process mosaic {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(raw)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}.ome.zarr"), emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} mosaic ${raw} mosaic_grid_z${two(z)}.ome.zarr --slice ${z} --resolution-um ${params.resolution} \
      --axial-resolution-um ${params.axial_resolution} ${within(task)}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}.ome.zarr; touch mosaic_z${two(z)}_metrics.json"
}

process fix_illumination {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_illum.ome.zarr"), emit: made
    path '*_flatfield.npy'
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} fix-illumination ${mosaic} mosaic_grid_z${two(z)}_illum.ome.zarr ${within(task)}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}_illum.ome.zarr; touch mosaic_grid_z${two(z)}_illum_flatfield.npy fix_illumination_z${two(z)}_metrics.json"
}

process aip {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_aip.ome.zarr"), emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} aip ${mosaic} mosaic_grid_z${two(z)}_aip.ome.zarr ${within(task)}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}_aip.ome.zarr; touch aip_z${two(z)}_metrics.json"
}

process estimate_transform {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(aip)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_transform.npy"), emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} estimate-transform ${aip} mosaic_grid_z${two(z)}_transform.npy ${within(task)}
    """
    stub:
    "touch mosaic_grid_z${two(z)}_transform.npy estimate_transform_z${two(z)}_metrics.json"
}

process stitch {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic), path(transform)
    output:
    tuple val(z), path("slice_z${two(z)}_stitch.ome.zarr"), emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} stitch ${mosaic} slice_z${two(z)}_stitch.ome.zarr --transform ${transform} ${within(task)}
    """
    stub:
    "mkdir slice_z${two(z)}_stitch.ome.zarr; touch stitch_z${two(z)}_metrics.json"
}

process crop_below_interface {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(slice)
    output:
    path "slice_z${two(z)}_crop.ome.zarr", emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} crop-below-interface ${slice} slice_z${two(z)}_crop.ome.zarr --depth-um ${params.depth_um} \
      ${within(task)}
    """
    stub:
    "mkdir slice_z${two(z)}_crop.ome.zarr; touch crop_below_interface_z${two(z)}_metrics.json"
}

process common_space {
    publishDir params.output, mode: 'copy', saveAs: { name -> name.replaceFirst('^moved/', '') }
    input:
    path 'slices/*'
    path shifts
    output:
    path 'moved/slice_z*_common.ome.zarr', emit: made
    path 'moved/*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} common-space slices moved --shifts ${shifts} ${may_miss() ? '--missing-slices' : ''} ${within(task)}
    """
    stub:
    "mkdir -p moved/slice_z00_common.ome.zarr; touch moved/common_space_metrics.json"
}

process stack {
    publishDir params.output, mode: 'copy'
    input:
    path 'slices/*'
    output:
    path '3d_volume.ome.zarr', emit: made
    path '*_metrics.json', emit: notes
    script:
    """
    ${penstock(task)} stack slices 3d_volume.ome.zarr --slicing-interval-mm ${params.slicing_interval_mm} \
      ${within(task)}
    """
    stub:
    "mkdir 3d_volume.ome.zarr; touch stack_metrics.json"
}

// What all steps wrote, side by side, as a page.
process report {
    publishDir params.output, mode: 'copy'
    input:
    path 'made/*'
    output:
    path 'report.html'
    script:
    """
    ${penstock(task)} report made --output report.html --slicing-interval-mm ${params.slicing_interval_mm} \
      ${within(task)}
    """
    stub:
    "touch report.html"
}

def sorted(channel) { channel.toSortedList { a, b -> a.name <=> b.name } }

workflow {
    for (name in ['input', 'output', 'shifts_xy'])
        if (!params[name]) error "--${name} is needed"
    raw = file(params.input, checkIfExists: true)
    ids = files("${params.input}/**/info.txt")
        .collect { it.parent.name =~ /^tile_x\d+_y\d+_z(\d+)$/ }
        .findAll { it.matches() }
        .collect { it.group(1) as int }
        .unique()
        .sort()
    if (ids.isEmpty()) error "${params.input}: no folders tile_x*_y*_z* are in it"
    ids -= left_out()
    if (ids.isEmpty()) error "${params.slice_config}: no slice of ${params.input} is to be used"

    grids = mosaic(Channel.fromList(ids).map { z -> tuple(z, raw) })
    fixed = fix_illumination(grids.made)
    projections = aip(fixed.made)
    places = estimate_transform(projections.made)
    stitched = stitch(fixed.made.join(places.made))
    slices = crop_below_interface(stitched.made)
    // Sorted, so that a resumed run finds what it made.
    moved = common_space(sorted(slices.made), file(params.shifts_xy, checkIfExists: true))
    volume = stack(moved.made)
    if (params.report) {
        of_slices = projections.made.mix(places.made, stitched.made).map { z, path -> path }
        notes = grids.notes.mix(fixed.notes, projections.notes, places.notes, stitched.notes, slices.notes, volume.notes)
        report(sorted(of_slices.mix(notes, volume.made, moved.made.flatten(), moved.notes.flatten())))
    }
}
