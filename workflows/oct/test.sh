#!/bin/sh
# The workflow gives, byte for byte, the volume of one call, and a second run with -resume has nothing to do; its wiring alone is
# tried by stubs; with `sbatch` here, tasks are also handed to Slurm.
# workflows/oct/test.sh PENSTOCK [NAME...]: the command to test; of the parts below only those named.
# shellcheck disable=SC2016  # what another shell runs is expanded there
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
penstock=$(realpath "$1")
shift
parts=${*:-places forks stub volume left_out killed $(command -v sbatch > /dev/null && echo slurm)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
how="--axial-resolution-um 10 --slicing-interval-mm 0.24 --depth-um 520"

subject() {
  [ -e subject ] || "$penstock" oct simulate subject --size smoke --seed 7 --quiet
}
one() {
  # shellcheck disable=SC2086
  [ -e one ] || "$penstock" oct reconstruct subject/raw one --resolution-um 10 $how --shifts subject/raw/shifts_xy.csv --quiet
}
flow() { # FOLDER OPTION...
  to=$1
  shift
  "$here/tools/nextflow.sh" run "$here/workflows/oct/main.nf" --penstock "$penstock" --input "$work/subject/raw" \
    --output "$work/$to" --shifts_xy "$work/subject/raw/shifts_xy.csv" --resolution 10 --axial_resolution 10 \
    --slicing_interval_mm 0.24 --depth_um 520 --report "$@"
}
same_volume() { # FOLDER [EXPECTED]
  (cd "${2:-one}/3d_volume.ome.zarr" && find . -type f | sort) > files
  test "$(wc -l < files)" -gt 5
  while read -r file; do cmp "${2:-one}/3d_volume.ome.zarr/$file" "$1/3d_volume.ome.zarr/$file"; done < files
}

for part in $parts; do
  case $part in
    places) # what tasks are held to never comes to more than a GPU has, and what was killed gives it back
      mkdir -p fake locks
      printf '#!/bin/sh\nprintf "1000, 2100, 0, GPU-a\\n3000, 4100, 1, GPU-b\\n"\n' > fake/nvidia-smi
      chmod +x fake/nvidia-smi
      export PENSTOCK_GPU_LOCKS="$work/locks"
      on=$here/workflows/oct/bin/on_free_gpu
      plain=$PATH
      PATH=$work/fake:$PATH
      test "$("$on" 1000 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = GPU-b
      "$on" 2600 sleep 60 & # of 4,100 - 512 of GPU-b: 14 parts of 256, of which 3 are left
      first=$!
      sleep 1
      test "$("$on" 900 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = GPU-a
      test "$("$on" 700 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = GPU-b
      test "$(CUDA_VISIBLE_DEVICES=GPU-b "$on" 700 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = GPU-b
      if CUDA_VISIBLE_DEVICES=1 timeout 3 "$on" 900 true 2> /dev/null; then exit 1; fi
      "$on" 1100 true & # GPU-a has 1,000 MiB free: it waits for GPU-b
      waits=$!
      if "$on" 4000 true 2> refused; then exit 1; fi # no GPU is that large
      grep -q "the largest GPU has 4100 MiB" refused
      kill -9 "$first"
      wait "$waits"
      test "$("$on" 2600 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = GPU-b
      test "$("$on" 0 echo plain)" = plain
      for _ in 1 2 3 4 5 6 7 8; do "$on" 1200 sh -c 'echo in >> inside; sleep 0.3; echo out >> inside' & done
      wait
      test "$(awk '{n += $1 == "in" ? 1 : -1; if (n > most) most = n} END {print most}' inside)" -le 2 # of 1,200 MiB
      PATH=$plain
      unset PENSTOCK_GPU_LOCKS
      echo "workflow: memory of GPUs is shared out"
      ;;
    forks) # as many tasks as GPUs have room for, only where GPUs are used
      config() { "$here/tools/nextflow.sh" config "$here/workflows/oct" -flat -profile "$1"; }
      config standard | grep -q "maxForks = [^0]" && exit 1
      config gpu > gpu.config
      test "$(grep -c "maxForks = [1-9]" gpu.config)" = 9
      grep -q "clusterOptions = '--gres=gpu:1'" gpu.config
      config slurm,gpu > slurm.config
      test "$(grep -c "maxForks = 0" slurm.config)" = 9 # Slurm hands GPUs out
      grep -q "clusterOptions = '--gres=gpu:1'" slurm.config
      echo "workflow: each process has its number of tasks on a GPU"
      ;;
    stub)
      subject
      flow stub -stub-run > stub.log || { cat stub.log; exit 1; }
      for name in 3d_volume.ome.zarr report.html slice_z03_stitch.ome.zarr; do test -e "stub/$name"; done
      echo "workflow: stubs are wired"
      ;;
    volume)
      subject
      one
      # Two of its tasks fail at first, one twice.
      cat > flaky <<FLAKY
#!/bin/sh
case "\$*" in *" stack "*) most=2 ;; *"slice_z01_crop"*) most=1 ;; *) most=0 ;; esac
tries=$work/tries_\$2
[ "\$(cat "\$tries" 2> /dev/null | wc -l)" -ge "\$most" ] || { echo >> "\$tries"; exit 1; }
exec $penstock "\$@"
FLAKY
      chmod +x flaky
      flow flow --penstock "$work/flaky" > flow.log
      test "$(grep -c "Re-submitted process" flow.log)" = 3
      same_volume flow
      grep -q "Overlaps" flow/report.html
      flow flow --penstock "$work/flaky" -resume > resumed
      grep -q "Submitted process" resumed && { cat resumed; exit 1; }
      grep -q "Cached process" resumed
      echo "workflow: $(wc -l < files) files of the volume are equal, three failures were tried again, and -resume had nothing to do"
      ;;
    left_out) # the slices that a table says are not to be used
      subject
      printf 'slice_id,use,notes\n00,true,\n01.0,No,torn\n' > slice_config.csv
      # shellcheck disable=SC2086
      "$penstock" oct reconstruct subject/raw few --resolution-um 10 $how --shifts subject/raw/shifts_xy.csv \
        --slice-config slice_config.csv --quiet
      flow left_out --slice_config "$work/slice_config.csv" > left_out.log || { cat left_out.log; exit 1; }
      same_volume left_out few
      test ! -e left_out/mosaic_grid_z01.ome.zarr
      printf 'slice_id,use\n00,perhaps\n' > slice_config.csv
      if flow refused --slice_config "$work/slice_config.csv" > refused.log; then exit 1; fi
      grep -q "slice 00: use is 'perhaps'" refused.log
      echo "workflow: without the slices that are not to be used the volume is that of one call"
      ;;
    killed) # in the middle: -resume goes on with what was done, and comes to the same volume
      subject
      one
      flow killed > killed.log 2>&1 &
      running=$!
      seconds=0
      until grep -q "Submitted process > .*[sS]titch" killed.log; do
        seconds=$((seconds + 1))
        if [ "$seconds" -gt 120 ]; then cat killed.log; exit 1; fi
        sleep 1
      done
      pkill -KILL -P "$running"
      if wait "$running"; then exit 1; fi
      test ! -e killed/3d_volume.ome.zarr
      flow killed -resume > resumed
      grep -q "Cached process" resumed
      same_volume killed
      echo "workflow: killed in the middle, $(grep -c "Cached process" resumed) tasks were not done again"
      ;;
    slurm)
      subject
      one
      flow slurm -profile slurm
      same_volume slurm
      echo "workflow: the same by Slurm"
      ;;
    *) echo "workflows/oct/test.sh: no part '$part'" >&2; exit 64 ;;
  esac
done
