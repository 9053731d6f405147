// Serial OCT: raw tiles to a volume, a task for each step of each slice.  The steps are those of `penstock oct reconstruct`,
// and so are the names and bytes of what they write.
//
//   nextflow run workflows/oct/main.nf --input subject/raw --output out --shifts_xy subject/raw/shifts_xy.csv \
//     --resolution 10 --axial_resolution 10 --slicing_interval_mm 0.24 --depth_um 520

nextflow.enable.dsl = 2

def two(z) { String.format('%02d', z as int) }

process mosaic {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(raw)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}.ome.zarr"), emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct mosaic ${raw} mosaic_grid_z${two(z)}.ome.zarr --slice ${z} --resolution-um ${params.resolution} \
      --axial-resolution-um ${params.axial_resolution} --device ${params.device} --threads ${task.cpus}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}.ome.zarr; touch mosaic_metrics.json"
}

process fix_illumination {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_illum.ome.zarr"), emit: made
    path '*_flatfield.npy'
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct fix-illumination ${mosaic} mosaic_grid_z${two(z)}_illum.ome.zarr --device ${params.device} \
      --threads ${task.cpus}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}_illum.ome.zarr; touch stub_flatfield.npy stub_metrics.json"
}

process aip {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_aip.ome.zarr"), emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct aip ${mosaic} mosaic_grid_z${two(z)}_aip.ome.zarr --device ${params.device} --threads ${task.cpus}
    """
    stub:
    "mkdir mosaic_grid_z${two(z)}_aip.ome.zarr; touch stub_metrics.json"
}

process estimate_transform {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(aip)
    output:
    tuple val(z), path("mosaic_grid_z${two(z)}_transform.npy"), emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct estimate-transform ${aip} mosaic_grid_z${two(z)}_transform.npy --threads ${task.cpus}
    """
    stub:
    "touch mosaic_grid_z${two(z)}_transform.npy stub_metrics.json"
}

process stitch {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(mosaic), path(transform)
    output:
    tuple val(z), path("slice_z${two(z)}_stitch.ome.zarr"), emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct stitch ${mosaic} slice_z${two(z)}_stitch.ome.zarr --transform ${transform} --threads ${task.cpus}
    """
    stub:
    "mkdir slice_z${two(z)}_stitch.ome.zarr; touch stub_metrics.json"
}

process crop_below_interface {
    tag "slice ${z}"
    publishDir params.output, mode: 'copy'
    input:
    tuple val(z), path(slice)
    output:
    path "slice_z${two(z)}_crop.ome.zarr", emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct crop-below-interface ${slice} slice_z${two(z)}_crop.ome.zarr --depth-um ${params.depth_um} \
      --device ${params.device} --threads ${task.cpus}
    """
    stub:
    "mkdir slice_z${two(z)}_crop.ome.zarr; touch stub_metrics.json"
}

process common_space {
    publishDir params.output, mode: 'copy', saveAs: { name -> name.replaceFirst('^moved/', '') }
    input:
    path 'slices/*'
    path shifts
    output:
    path 'moved/slice_z*_common.ome.zarr', emit: made
    path 'moved/*_metrics.json'
    script:
    """
    ${params.penstock} oct common-space slices moved --shifts ${shifts} --device ${params.device} --threads ${task.cpus}
    """
    stub:
    "mkdir -p moved/slice_z00_common.ome.zarr; touch moved/stub_metrics.json"
}

process stack {
    publishDir params.output, mode: 'copy'
    input:
    path 'slices/*'
    output:
    path '3d_volume.ome.zarr', emit: made
    path '*_metrics.json'
    script:
    """
    ${params.penstock} oct stack slices 3d_volume.ome.zarr --slicing-interval-mm ${params.slicing_interval_mm} \
      --device ${params.device} --threads ${task.cpus}
    """
    stub:
    "mkdir 3d_volume.ome.zarr; touch stub_metrics.json"
}

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

    grids = mosaic(Channel.fromList(ids).map { z -> tuple(z, raw) }).made
    fixed = fix_illumination(grids).made
    places = estimate_transform(aip(fixed).made).made
    slices = crop_below_interface(stitch(fixed.join(places)).made).made
    // Sorted, so that a resumed run finds what it made.
    moved = common_space(slices.toSortedList { a, b -> a.name <=> b.name }, file(params.shifts_xy, checkIfExists: true)).made
    stack(moved)
}
